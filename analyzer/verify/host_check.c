/* Counts the accesses of OpenMP device code to memory that is not on the device.
 *
 * Preloaded into a program whose "device" is its own host. Device code is built with
 * -fsanitize=kernel-address and outlined calls, so that each load, store, atomic and memory intrinsic
 * of it calls an __asan_* function; those are defined here. -fsanitize-coverage would not do: it does
 * not see atomics and memory intrinsics. An access is to
 *   heap    a block that was allocated by anything but the OpenMP run-time
 *   global  data of the executable
 *   stack   frames of the host code above the launch of the kernel
 *   bounds  the red zone behind a device block: a section that is too small
 * The OpenMP target library allocates device blocks with malloc, which is how they are told apart.
 * At exit one JSON object goes to the file that RACEDART_HOST_CHECK names.
 *
 * Not seen: code that is not instrumented (libm, libc) called from a kernel, and accesses that jump
 * over the red zone of one device block into another.
 *
 * Linux on a 64-bit machine with glibc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { DEVICE = 0, HOST = 16, RED_ZONE = 17 };              /* a shadow byte; 1 to 15: so many bytes of DEVICE */
enum { HEAP, GLOBAL, STACK, BOUNDS, KINDS };                /* of accesses that are counted */
static const char *const kind_names[KINDS] = {"heap", "global", "stack", "bounds"};

#define ADDRESS_BITS 47
#define GRANULE 4                                           /* a shadow byte stands for 2^4 bytes */

struct range { uintptr_t low, high; };

static uint8_t *shadow;
static struct range runtimes[4];                            /* libomp, libomptarget */
static int runtime_count;
static struct range target_library, executable_data;
static uintptr_t stack_top, launch_frame;
static _Atomic int in_kernel;
static _Atomic long accesses, launches, counts[KINDS][2];   /* read, write */

static inline int inside(struct range range, const void *place) {
  return (uintptr_t)place >= range.low && (uintptr_t)place < range.high;
}

static void make_shadow(void) {
  if (shadow) return;
  void *made = mmap(0, 1UL << (ADDRESS_BITS - GRANULE), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) {
    static const char text[] = "racedart: the host checker cannot reserve its shadow memory\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(97);
  }
  madvise(made, 1UL << (ADDRESS_BITS - GRANULE), MADV_NOHUGEPAGE);
  shadow = made;
}

static int note_module(struct dl_phdr_info *module, size_t size, void *unused) {
  (void)size, (void)unused;
  static int is_executable = 1;                             /* the first module is */
  struct range all = {~0UL, 0}, data = {~0UL, 0};
  for (int i = 0; i < module->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD) continue;
    uintptr_t low = module->dlpi_addr + segment->p_vaddr, high = low + segment->p_memsz;
    if (low < all.low) all.low = low;
    if (high > all.high) all.high = high;
    if (!(segment->p_flags & PF_W)) continue;
    if (low < data.low) data.low = low;
    if (high > data.high) data.high = high;
  }
  if (is_executable) {
    is_executable = 0;
    executable_data = data;
  } else if (strstr(module->dlpi_name, "libomp") && runtime_count < 4) {
    runtimes[runtime_count++] = all;
    if (strstr(module->dlpi_name, "libomptarget")) target_library = all;
  }
  return 0;
}

static inline int is_runtime(const void *caller) {
  for (int i = 0; i < runtime_count; i++)
    if (inside(runtimes[i], caller)) return 1;
  return 0;
}

static void mark(void *block, size_t size, uint8_t state) {
  uintptr_t address = (uintptr_t)block;
  if (!block || address >> ADDRESS_BITS) return;
  make_shadow();
  uint8_t *begin = shadow + (address >> GRANULE);
  size_t length = (size + (1 << GRANULE) - 1) >> GRANULE;
  if (state != DEVICE || length <= 1 << 20) {
    memset(begin, state, length);
    return;
  }
  /* Give the pages of a big block back: programs have many. */
  uint8_t *first = (uint8_t *)(((uintptr_t)begin + 4095) & ~4095UL);
  uint8_t *last = (uint8_t *)(((uintptr_t)begin + length) & ~4095UL);
  memset(begin, DEVICE, first - begin);
  madvise(first, last - first, MADV_DONTNEED);
  memset(last, DEVICE, begin + length - last);
}

static void *allocated(void *block, const void *caller) {
  if (block) mark(block, malloc_usable_size(block), is_runtime(caller) || in_kernel ? DEVICE : HOST);
  return block;
}

static size_t red_zone(size_t size) { return size < 64 ? 64 : size > 1 << 20 ? 1 << 20 : size; }

void *malloc(size_t size) {
  if (!inside(target_library, __builtin_return_address(0)))
    return allocated(__libc_malloc(size), __builtin_return_address(0));
  size_t rounded = (size + 15) & ~15UL, zone = red_zone(size);
  char *block = __libc_malloc(rounded + zone);
  if (block) {
    mark(block, malloc_usable_size(block), DEVICE);
    mark(block + rounded, zone, RED_ZONE);
    if (size & 15) mark(block + rounded - 16, 1, size & 15);
  }
  return block;
}

void *calloc(size_t count, size_t size) {
  return allocated(__libc_calloc(count, size), __builtin_return_address(0));
}

void *realloc(void *old, size_t size) {
  if (old) mark(old, malloc_usable_size(old), DEVICE);
  return allocated(__libc_realloc(old, size), __builtin_return_address(0));
}

void free(void *block) {
  if (block) mark(block, malloc_usable_size(block), DEVICE);
  __libc_free(block);
}

void *memalign(size_t alignment, size_t size) {
  return allocated(__libc_memalign(alignment, size), __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size) {
  return allocated(__libc_memalign(alignment, size), __builtin_return_address(0));
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  void *block = allocated(__libc_memalign(alignment, size), __builtin_return_address(0));
  if (!block) return 12; /* ENOMEM */
  *result = block;
  return 0;
}

__attribute__((constructor)) static void start(void) {
  make_shadow();
  dl_iterate_phdr(note_module, 0);
  pthread_attr_t attributes;
  void *lowest;
  size_t size;
  if (!pthread_getattr_np(pthread_self(), &attributes)) {
    pthread_attr_getstack(&attributes, &lowest, &size);
    stack_top = (uintptr_t)lowest + size;
    pthread_attr_destroy(&attributes);
  }
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("RACEDART_HOST_CHECK");
  FILE *file = path ? fopen(path, "w") : 0;
  if (!file) return;
  fprintf(file, "{\"launches\": %ld, \"accesses\": %ld, \"host\": {", launches, accesses);
  for (int kind = 0; kind < KINDS; kind++)
    fprintf(file, "%s\"%s reads\": %ld, \"%s writes\": %ld", kind ? ", " : "", kind_names[kind],
            counts[kind][0], kind_names[kind], counts[kind][1]);
  fprintf(file, "}}\n");
  fclose(file);
}

/* The entry points that the compiler calls for a target region, from the main thread or a task's. */
#define LAUNCH(NAME, PARAMETERS, ARGUMENTS)                         \
  int NAME PARAMETERS {                                             \
    static int(*launch) PARAMETERS;                                 \
    if (!launch) launch = (int(*) PARAMETERS)dlsym(RTLD_NEXT, #NAME); \
    uintptr_t outer = launch_frame;                                 \
    launch_frame = (uintptr_t)__builtin_frame_address(0);           \
    launches++, in_kernel++;                                        \
    int result = launch ARGUMENTS;                                  \
    in_kernel--, launch_frame = outer;                              \
    return result;                                                  \
  }
LAUNCH(__tgt_target_kernel, (void *l, int64_t d, int32_t t, int32_t n, void *h, void *k), (l, d, t, n, h, k))
LAUNCH(__tgt_target_kernel_nowait,
       (void *l, int64_t d, int32_t t, int32_t n, void *h, void *k, int32_t a, void *b, int32_t c, void *e),
       (l, d, t, n, h, k, a, b, c, e))

static inline void check(const void *place, size_t size, int is_write) {
  if (!in_kernel) return;
  uintptr_t address = (uintptr_t)place, last = address + size - 1;
  accesses++;
  if (last >> ADDRESS_BITS) return;
  uint8_t state = shadow[last >> GRANULE];
  if (state == RED_ZONE || (state != DEVICE && state < HOST && (last & 15) >= state))
    counts[BOUNDS][is_write]++;
  else if (state == HOST || shadow[address >> GRANULE] == HOST)
    counts[HEAP][is_write]++;
  else if (inside(executable_data, place))
    counts[GLOBAL][is_write]++;
  else if (address > launch_frame && address < stack_top && launch_frame + (256UL << 20) > stack_top)
    counts[STACK][is_write]++;
}

static void check_range(const void *place, size_t size, int is_write) {
  const char *at = place;
  for (; size > 1 << GRANULE; at += 1 << GRANULE, size -= 1 << GRANULE) check(at, 1 << GRANULE, is_write);
  if (size) check(at, size, is_write);
}

#define ACCESS(SIZE)                                                         \
  void __asan_load##SIZE##_noabort(void *place) { check(place, SIZE, 0); }  \
  void __asan_store##SIZE##_noabort(void *place) { check(place, SIZE, 1); } \
  void __asan_load##SIZE(void *place) { check(place, SIZE, 0); }            \
  void __asan_store##SIZE(void *place) { check(place, SIZE, 1); }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)

void __asan_loadN_noabort(void *place, size_t size) { check_range(place, size, 0); }
void __asan_storeN_noabort(void *place, size_t size) { check_range(place, size, 1); }
void __asan_loadN(void *place, size_t size) { check_range(place, size, 0); }
void __asan_storeN(void *place, size_t size) { check_range(place, size, 1); }

void *__asan_memcpy(void *to, const void *from, size_t size) {
  check_range(from, size, 0), check_range(to, size, 1);
  return memcpy(to, from, size);
}

void *__asan_memmove(void *to, const void *from, size_t size) {
  check_range(from, size, 0), check_range(to, size, 1);
  return memmove(to, from, size);
}

void *__asan_memset(void *to, int value, size_t size) {
  check_range(to, size, 1);
  return memset(to, value, size);
}

void __asan_handle_no_return(void) {}
