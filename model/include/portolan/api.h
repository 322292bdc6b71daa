/* Every public header begins and ends with these macros: C linkage, and symbols that the shared libraries
 * export. The libraries are built with -fvisibility=hidden, so only declarations between PTO_API_BEGIN and
 * PTO_API_END can be used from outside. */
#ifndef PORTOLAN_API_H
#define PORTOLAN_API_H

#if defined(__GNUC__)
#define PTO_EXPORT_BEGIN _Pragma("GCC visibility push(default)")
#define PTO_EXPORT_END _Pragma("GCC visibility pop")
#else
#define PTO_EXPORT_BEGIN
#define PTO_EXPORT_END
#endif

#ifdef __cplusplus
#define PTO_API_BEGIN PTO_EXPORT_BEGIN extern "C" {
#define PTO_API_END                                                                                          \
    }                                                                                                        \
    PTO_EXPORT_END
#else
#define PTO_API_BEGIN PTO_EXPORT_BEGIN
#define PTO_API_END PTO_EXPORT_END
#endif

#endif
