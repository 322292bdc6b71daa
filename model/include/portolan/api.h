/* Every public header begins and ends with these macros: C linkage, and symbols that the shared libraries
 * export. The libraries are built with -fvisibility=hidden, so only declarations between PTO_API_BEGIN and
 * PTO_API_END can be used from outside. Headers that are not installed (model/internal, impl/internal) use
 * PTO_C_BEGIN and PTO_C_END instead. */
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
#define PTO_C_BEGIN extern "C" {
#define PTO_C_END }
#else
#define PTO_C_BEGIN
#define PTO_C_END
#endif

#define PTO_API_BEGIN PTO_EXPORT_BEGIN PTO_C_BEGIN
#define PTO_API_END PTO_C_END PTO_EXPORT_END

#endif
