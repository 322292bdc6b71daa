/* ADDRESS_SANITIZED: whether this is compiled for the address sanitizer, which has an allocator and a memcpy
 * of its own, in front of those of a test. */
#ifndef PTO_TEST_SANITIZED_H
#define PTO_TEST_SANITIZED_H

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define ADDRESS_SANITIZED 1
#else
#define ADDRESS_SANITIZED 0
#endif

#endif
