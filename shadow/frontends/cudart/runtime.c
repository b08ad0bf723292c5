/* The CUDA runtime of a program that runs under racedart: memory is host memory, every launch goes to Python.

A program built with `-cudart shared` is started with this library in the place of libcudart. Device memory lies in
a file that this process and racedart share, mapped at the address that the engine uses for it: a device pointer
is the same number in the program, in device memory and in the kernel, and host code can follow it (managed,
pinned and device memory are one). Modules, variables, functions and launches are requests over a socket, each
answered before the call returns, so streams are in order and every call is synchronous.

Request: u32 operation, u32 bytes, then the bytes. Reply: i32 status (a cudaError_t), u32 bytes, then the bytes.
All numbers are little endian. `protocol.py` is the other end.

Not here: textures and surfaces, graphs, the driver API, device memory of host allocations that the program
registers, peer devices. Calls of those return cudaErrorNotSupported, or do not link.
*/
#include <cuda_runtime_api.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ARENA 0x7F00000000ull
#define GUARD 4096ull
#define ALIGNMENT 512ull
#define EXPORT __attribute__((visibility("default")))

enum { MODULE = 1, VARIABLE = 2, FUNCTION = 3, LAUNCH = 4 };

typedef struct { uint64_t address, size; } Allocation;
typedef struct { const void *host; char *name; uint32_t module, number, parameters, *sizes; struct cudaFuncAttributes attributes; } Function;
typedef struct { const void *host; char *name; uint64_t address, size; } Symbol;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int channel = -1;
static uint64_t arena_bytes, heap_start = ARENA;
static Allocation *allocations;
static size_t allocation_count, allocation_room;
static Function *functions[1 << 16];
static uint32_t function_count;
static Symbol *symbols;
static size_t symbol_count;
static uint32_t module_count;
static __thread cudaError_t last_error;
static __thread struct { dim3 grid, block; size_t shared; void *stream; } configuration;
static __thread int current_device;

static cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

static void fail(const char *what) {
  fprintf(stderr, "racedart: the CUDA runtime stand-in: %s\n", what);
  exit(120);
}

static void transfer(void *data, size_t bytes, int sending) {
  char *at = data;
  while (bytes) {
    ssize_t n = sending ? write(channel, at, bytes) : read(channel, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) exit(121);
    at += n;
    bytes -= n;
  }
}

static void connect_once(void) {
  if (channel >= 0) return;
  const char *socket = getenv("RACEDART_CUDART_SOCKET"), *memory = getenv("RACEDART_CUDART_MEMORY");
  if (!socket || !memory) fail("start the program through racedart check");
  channel = atoi(socket);
  arena_bytes = lseek(atoi(memory), 0, SEEK_END);
  void *at = mmap((void *)ARENA, arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, atoi(memory), 0);
  if (at != (void *)ARENA) fail("the address range of device memory is taken in this process");
}

/* Send a request made of two parts; the reply goes to `reply` (at most `room` bytes). */
static cudaError_t request(uint32_t operation, const void *a, size_t a_bytes, const void *b, size_t b_bytes, void *reply, size_t room) {
  uint32_t header[2] = {operation, (uint32_t)(a_bytes + b_bytes)};
  transfer(header, sizeof header, 1);
  transfer((void *)a, a_bytes, 1);
  transfer((void *)b, b_bytes, 1);
  transfer(header, sizeof header, 0);
  if (header[1] > room) fail("a reply is too long");
  transfer(reply, header[1], 0);
  return (cudaError_t)header[0];
}

/* Device memory: first fit in the shared arena, with a guard behind every allocation. */

static uint64_t aligned(uint64_t n) { return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static cudaError_t allocate(void **pointer, size_t size) {
  if (!pointer) return result(cudaErrorInvalidValue);
  *pointer = NULL;
  if (!size) return cudaSuccess;
  pthread_mutex_lock(&lock);
  connect_once();
  uint64_t at = aligned(heap_start + GUARD);
  size_t k = 0;
  for (; k < allocation_count; k++) {
    if (at + size + GUARD <= allocations[k].address) break;
    at = aligned(allocations[k].address + allocations[k].size + GUARD);
  }
  if (at + size + GUARD > ARENA + arena_bytes || at + size < at) {
    pthread_mutex_unlock(&lock);
    return result(cudaErrorMemoryAllocation);
  }
  if (allocation_count == allocation_room) {
    allocation_room = allocation_room ? 2 * allocation_room : 64;
    allocations = realloc(allocations, allocation_room * sizeof *allocations);
  }
  memmove(allocations + k + 1, allocations + k, (allocation_count - k) * sizeof *allocations);
  allocations[k] = (Allocation){at, size};
  allocation_count++;
  pthread_mutex_unlock(&lock);
  *pointer = (void *)at;
  return cudaSuccess;
}

static const Allocation *holding(uint64_t address) {
  for (size_t k = 0; k < allocation_count; k++)
    if (allocations[k].address <= address && address < allocations[k].address + allocations[k].size) return allocations + k;
  return NULL;
}

static cudaError_t release(void *pointer) {
  if (!pointer) return cudaSuccess;
  pthread_mutex_lock(&lock);
  for (size_t k = 0; k < allocation_count; k++)
    if (allocations[k].address == (uint64_t)pointer) {
      memmove(allocations + k, allocations + k + 1, (--allocation_count - k) * sizeof *allocations);
      pthread_mutex_unlock(&lock);
      return cudaSuccess;
    }
  pthread_mutex_unlock(&lock);
  return result(cudaErrorInvalidValue);
}

static int in_arena(uint64_t address) { return ARENA <= address && address < ARENA + arena_bytes; }

static Symbol *symbol_of(const void *host) {
  for (size_t k = 0; k < symbol_count; k++)
    if (symbols[k].host == host) return symbols + k;
  return NULL;
}

/* A copy from or to device memory that is not allocated is an error, as on a GPU. */
static cudaError_t copy(void *to, const void *from, size_t bytes) {
  if (!bytes) return cudaSuccess;
  if (!to || !from) return result(cudaErrorInvalidValue);
  const void *ends[2] = {to, from};
  for (int k = 0; k < 2; k++) {
    uint64_t address = (uint64_t)ends[k];
    if (!in_arena(address)) continue;
    const Allocation *whole = holding(address);
    int inside = whole && address + bytes <= whole->address + whole->size;
    for (size_t s = 0; s < symbol_count && !inside; s++)
      inside = symbols[s].address <= address && address + bytes <= symbols[s].address + symbols[s].size;
    if (!inside) return result(cudaErrorInvalidValue);
  }
  memmove(to, from, bytes);
  return cudaSuccess;
}

static cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height) {
  for (size_t row = 0; row < height; row++) {
    cudaError_t error = copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    if (error) return error;
  }
  return cudaSuccess;
}

/* Registration, which compiled host code does before main. */

EXPORT void **__cudaRegisterFatBinary(void *wrapper) {
  struct { uint32_t magic, version; const unsigned char *data; void *more; } *w = wrapper;
  pthread_mutex_lock(&lock);
  connect_once();
  uint16_t header;
  uint64_t body;
  memcpy(&header, w->data + 6, 2);
  memcpy(&body, w->data + 8, 8);
  uint32_t number = module_count++;
  uint64_t heap = heap_start;
  request(MODULE, &number, sizeof number, w->data, header + body, &heap, sizeof heap);
  if (heap > heap_start) heap_start = heap;
  pthread_mutex_unlock(&lock);
  uint32_t *handle = malloc(sizeof *handle);
  *handle = number;
  return (void **)handle;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **handle) {}
EXPORT void __cudaUnregisterFatBinary(void **handle) {}
EXPORT char __cudaInitModule(void **handle) { return 1; }

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *name, const char *device_name, int limit, void *tid, void *bid, void *bdim, void *gdim, int *warp) {
  pthread_mutex_lock(&lock);
  Function *f = calloc(1, sizeof *f);
  f->host = host;
  f->name = strdup(device_name);
  f->module = *(uint32_t *)handle;
  f->number = function_count;
  functions[function_count++] = f;
  pthread_mutex_unlock(&lock);
}

EXPORT void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int external, size_t size, int constant, int global) {
  pthread_mutex_lock(&lock);
  struct { uint32_t module, pad; uint64_t size; } about = {*(uint32_t *)handle, 0, size};
  uint64_t place = 0;
  if (request(VARIABLE, &about, sizeof about, name, strlen(name), &place, sizeof place) == cudaSuccess) {
    symbols = realloc(symbols, (symbol_count + 1) * sizeof *symbols);
    symbols[symbol_count++] = (Symbol){host, strdup(name), place, size};
  }
  pthread_mutex_unlock(&lock);
}

EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *address, const char *name, int external, size_t size, int constant, int global) {
  __cudaRegisterVar(handle, (char *)host, address, name, external, size, constant, global);
  Symbol *made = symbol_of(host);
  if (made) *host = (void *)made->address;
}

/* Launches */

static Function *function_of(const void *host) {
  for (uint32_t k = 0; k < function_count; k++)
    if (functions[k]->host == host || functions[k] == host) return functions[k];
  return NULL;
}

static cudaError_t resolve(Function *f) {
  if (f->sizes) return cudaSuccess;
  struct { uint32_t count, shared, constant, local, sizes[4096]; } reply;
  uint32_t about[2] = {f->module, f->number};
  cudaError_t error = request(FUNCTION, about, sizeof about, f->name, strlen(f->name), &reply, sizeof reply);
  if (error) return error;
  f->parameters = reply.count;
  f->sizes = malloc((reply.count + 1) * sizeof *f->sizes);
  memcpy(f->sizes, reply.sizes, reply.count * sizeof *f->sizes);
  f->attributes.sharedSizeBytes = reply.shared;
  f->attributes.localSizeBytes = reply.local;
  f->attributes.maxThreadsPerBlock = 1024;
  f->attributes.numRegs = 32;
  f->attributes.ptxVersion = f->attributes.binaryVersion = 90;
  f->attributes.maxDynamicSharedSizeBytes = 227 * 1024 - reply.shared;
  return cudaSuccess;
}

static cudaError_t launch(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared) {
  pthread_mutex_lock(&lock);
  cudaError_t error = cudaErrorInvalidDeviceFunction;
  Function *f = function_of(host);
  if (f && (error = resolve(f)) == cudaSuccess) {
    size_t bytes = 0;
    for (uint32_t k = 0; k < f->parameters; k++) bytes += f->sizes[k];
    struct { uint32_t function, grid[3], block[3], bytes; uint64_t shared, allocations; } head = {
        f->number, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, (uint32_t)bytes, shared, allocation_count};
    char *data = malloc(sizeof head + bytes + 8);
    memcpy(data, &head, sizeof head);
    char *at = data + sizeof head;
    for (uint32_t k = 0; k < f->parameters; at += f->sizes[k++]) memcpy(at, arguments[k], f->sizes[k]);
    char none[8];
    error = request(LAUNCH, data, sizeof head + bytes, allocations, allocation_count * sizeof *allocations, none, sizeof none);
    free(data);
  }
  pthread_mutex_unlock(&lock);
  return result(error);
}

EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
  configuration.grid = grid;
  configuration.block = block;
  configuration.shared = shared;
  configuration.stream = stream;
  return 0;
}
EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *(void **)stream = configuration.stream;
  return cudaSuccess;
}
EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) {
  *kernel = (cudaKernel_t)function_of(host);
  return *kernel ? cudaSuccess : result(cudaErrorInvalidDeviceFunction);
}
EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared);
}
EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared);
}
EXPORT cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) {
  return launch(f, grid, block, arguments, shared);
}
EXPORT cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) {
  return launch(f, grid, block, arguments, shared);
}
EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **arguments) {
  for (unsigned k = 0; k < c->numAttrs; k++)
    if (c->attrs[k].id == cudaLaunchAttributeClusterDimension) return result(cudaErrorNotSupported);
  return launch(f, c->gridDim, c->blockDim, arguments, c->dynamicSmemBytes);
}
EXPORT cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *host) {
  pthread_mutex_lock(&lock);
  Function *f = function_of(host);
  cudaError_t error = f ? resolve(f) : cudaErrorInvalidDeviceFunction;
  if (!error) *attributes = f->attributes;
  pthread_mutex_unlock(&lock);
  return result(error);
}
EXPORT cudaError_t cudaFuncSetAttribute(const void *f, enum cudaFuncAttribute which, int value) { return cudaSuccess; }
EXPORT cudaError_t cudaFuncSetCacheConfig(const void *f, enum cudaFuncCache config) { return cudaSuccess; }
EXPORT cudaError_t cudaFuncSetSharedMemConfig(const void *f, enum cudaSharedMemConfig config) { return cudaSuccess; }

/* Memory */

EXPORT cudaError_t cudaMalloc(void **p, size_t n) { return allocate(p, n); }
EXPORT cudaError_t cudaMallocManaged(void **p, size_t n, unsigned flags) { return allocate(p, n); }
EXPORT cudaError_t cudaMallocHost(void **p, size_t n) { return allocate(p, n); }
EXPORT cudaError_t cudaHostAlloc(void **p, size_t n, unsigned flags) { return allocate(p, n); }
EXPORT cudaError_t cudaMallocAsync(void **p, size_t n, cudaStream_t s) { return allocate(p, n); }
EXPORT cudaError_t cudaMallocFromPoolAsync(void **p, size_t n, cudaMemPool_t pool, cudaStream_t s) { return allocate(p, n); }
EXPORT cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height) {
  *pitch = aligned(width);
  return allocate(p, *pitch * height);
}
EXPORT cudaError_t cudaMalloc3D(struct cudaPitchedPtr *p, struct cudaExtent extent) {
  *p = (struct cudaPitchedPtr){NULL, aligned(extent.width), extent.width, extent.height};
  return allocate(&p->ptr, p->pitch * extent.height * extent.depth);
}
EXPORT cudaError_t cudaFree(void *p) { return release(p); }
EXPORT cudaError_t cudaFreeHost(void *p) { return release(p); }
EXPORT cudaError_t cudaFreeAsync(void *p, cudaStream_t s) { return release(p); }
EXPORT cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
  *device = host;
  return in_arena((uint64_t)host) ? cudaSuccess : result(cudaErrorInvalidValue);
}
EXPORT cudaError_t cudaHostRegister(void *p, size_t n, unsigned flags) { return cudaSuccess; }
EXPORT cudaError_t cudaHostUnregister(void *p) { return cudaSuccess; }
EXPORT cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p) {
  memset(a, 0, sizeof *a);
  if (holding((uint64_t)p)) {
    a->type = cudaMemoryTypeDevice;
    a->devicePointer = a->hostPointer = (void *)p;
  }
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind) { return copy(to, from, n); }
EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s) { return copy(to, from, n); }
EXPORT cudaError_t cudaMemcpyPeer(void *to, int d, const void *from, int e, size_t n) { return copy(to, from, n); }
EXPORT cudaError_t cudaMemcpyPeerAsync(void *to, int d, const void *from, int e, size_t n, cudaStream_t s) { return copy(to, from, n); }
EXPORT cudaError_t cudaMemcpy2D(void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h, enum cudaMemcpyKind kind) { return copy_rows(to, tp, from, fp, w, h); }
EXPORT cudaError_t cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h, enum cudaMemcpyKind kind, cudaStream_t s) { return copy_rows(to, tp, from, fp, w, h); }
EXPORT cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
  if (p->srcArray || p->dstArray) return result(cudaErrorNotSupported);
  for (size_t z = 0; z < p->extent.depth; z++) {
    const char *from = (const char *)p->srcPtr.ptr + ((p->srcPos.z + z) * p->srcPtr.ysize + p->srcPos.y) * p->srcPtr.pitch + p->srcPos.x;
    char *to = (char *)p->dstPtr.ptr + ((p->dstPos.z + z) * p->dstPtr.ysize + p->dstPos.y) * p->dstPtr.pitch + p->dstPos.x;
    cudaError_t error = copy_rows(to, p->dstPtr.pitch, from, p->srcPtr.pitch, p->extent.width, p->extent.height);
    if (error) return error;
  }
  return cudaSuccess;
}
static cudaError_t fill(void *p, int value, size_t n) {
  if (!n) return cudaSuccess;
  const Allocation *whole = holding((uint64_t)p);
  int inside = whole && (uint64_t)p + n <= whole->address + whole->size;
  for (size_t s = 0; s < symbol_count && !inside; s++)
    inside = symbols[s].address <= (uint64_t)p && (uint64_t)p + n <= symbols[s].address + symbols[s].size;
  if (!inside) return result(cudaErrorInvalidValue);
  memset(p, value, n);
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemset(void *p, int value, size_t n) { return fill(p, value, n); }
EXPORT cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t s) { return fill(p, value, n); }
EXPORT cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t w, size_t h) {
  for (size_t row = 0; row < h; row++) {
    cudaError_t error = fill((char *)p + row * pitch, value, w);
    if (error) return error;
  }
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t w, size_t h, cudaStream_t s) { return cudaMemset2D(p, pitch, value, w, h); }
EXPORT cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t n, size_t offset, enum cudaMemcpyKind kind) {
  Symbol *s = symbol_of(symbol);
  return s ? copy((char *)s->address + offset, from, n) : result(cudaErrorInvalidSymbol);
}
EXPORT cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t n, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyToSymbol(symbol, from, n, offset, kind);
}
EXPORT cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t n, size_t offset, enum cudaMemcpyKind kind) {
  Symbol *s = symbol_of(symbol);
  return s ? copy(to, (char *)s->address + offset, n) : result(cudaErrorInvalidSymbol);
}
EXPORT cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t n, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpyFromSymbol(to, symbol, n, offset, kind);
}
EXPORT cudaError_t cudaGetSymbolAddress(void **p, const void *symbol) {
  Symbol *s = symbol_of(symbol);
  if (s) *p = (void *)s->address;
  return s ? cudaSuccess : result(cudaErrorInvalidSymbol);
}
EXPORT cudaError_t cudaGetSymbolSize(size_t *n, const void *symbol) {
  Symbol *s = symbol_of(symbol);
  if (s) *n = s->size;
  return s ? cudaSuccess : result(cudaErrorInvalidSymbol);
}
EXPORT cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  size_t used = 0;
  for (size_t k = 0; k < allocation_count; k++) used += allocations[k].size + GUARD;
  *total = arena_bytes;
  *available = arena_bytes - used;
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemPrefetchAsync(const void *p, size_t n, struct cudaMemLocation where, unsigned flags, cudaStream_t s) { return cudaSuccess; }
EXPORT cudaError_t cudaMemAdvise(const void *p, size_t n, enum cudaMemoryAdvise advice, struct cudaMemLocation where) { return cudaSuccess; }
EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) { *pool = (cudaMemPool_t)1; return cudaSuccess; }
EXPORT cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) { *pool = (cudaMemPool_t)1; return cudaSuccess; }
EXPORT cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value) { return cudaSuccess; }
EXPORT cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value) { memset(value, 0, 8); return cudaSuccess; }
EXPORT cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t n) { return cudaSuccess; }

/* Devices */

enum { MULTIPROCESSORS = 8, BLOCKS_OF_A_MULTIPROCESSOR = 2 };

EXPORT cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
EXPORT cudaError_t cudaGetDevice(int *device) { *device = current_device; return cudaSuccess; }
EXPORT cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : result(cudaErrorInvalidDevice); }
EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) {
  if (device) return result(cudaErrorInvalidDevice);
  memset(p, 0, sizeof *p);
  strcpy(p->name, "racedart (no GPU)");
  p->totalGlobalMem = arena_bytes ? arena_bytes : 1ull << 32;
  p->sharedMemPerBlock = 48 * 1024;
  p->sharedMemPerBlockOptin = 227 * 1024;
  p->sharedMemPerMultiprocessor = 228 * 1024;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->memPitch = 1 << 30;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->totalConstMem = 65536;
  p->major = 9;
  p->multiProcessorCount = MULTIPROCESSORS;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = p->concurrentManagedAccess = 1;
  p->concurrentKernels = p->cooperativeLaunch = p->memoryPoolsSupported = 1;
  p->asyncEngineCount = 2;
  p->memoryBusWidth = 1024;
  p->l2CacheSize = 1 << 25;
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device) {
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: case cudaDevAttrMaxBlockDimX: case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = 2147483647; break;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 * 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 * 1024; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 228 * 1024; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = 1024; break;
    case cudaDevAttrTotalConstantMemory: *value = 65536; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxRegistersPerBlock: case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrClockRate: case cudaDevAttrMemoryClockRate: *value = 1000000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 1024; break;
    case cudaDevAttrMultiProcessorCount: *value = MULTIPROCESSORS; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrL2CacheSize: *value = 1 << 25; break;
    case cudaDevAttrManagedMemory: case cudaDevAttrConcurrentManagedAccess: case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrConcurrentKernels: case cudaDevAttrUnifiedAddressing: case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    default: *value = 0;
  }
  return cudaSuccess;
}
EXPORT cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *p) { *device = 0; return cudaSuccess; }
EXPORT cudaError_t cudaSetDeviceFlags(unsigned flags) { return cudaSuccess; }
EXPORT cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) { return cudaSuccess; }
EXPORT cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
EXPORT cudaError_t cudaDeviceReset(void) { return cudaSuccess; }
EXPORT cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) { return cudaSuccess; }
EXPORT cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) { *value = 8 << 20; return cudaSuccess; }
EXPORT cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) { return cudaSuccess; }
EXPORT cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) { return cudaSuccess; }
EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -1; return cudaSuccess; }
EXPORT cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) { *can = 0; return cudaSuccess; }
EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) { return result(cudaErrorPeerAccessUnsupported); }
EXPORT cudaError_t cudaDriverGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
EXPORT cudaError_t cudaRuntimeGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *f, int threads, size_t shared) { *blocks = BLOCKS_OF_A_MULTIPROCESSOR; return cudaSuccess; }
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *f, int threads, size_t shared, unsigned flags) { *blocks = BLOCKS_OF_A_MULTIPROCESSOR; return cudaSuccess; }
EXPORT cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
EXPORT cudaError_t cudaProfilerStop(void) { return cudaSuccess; }

/* Streams and events: everything has happened when a call returns. */

static uintptr_t handles = 0x1000;

EXPORT cudaError_t cudaStreamCreate(cudaStream_t *s) { *s = (cudaStream_t)(handles += 16); return cudaSuccess; }
EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) { return cudaStreamCreate(s); }
EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority) { return cudaStreamCreate(s); }
EXPORT cudaError_t cudaStreamDestroy(cudaStream_t s) { return cudaSuccess; }
EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t s) { return cudaSuccess; }
EXPORT cudaError_t cudaStreamQuery(cudaStream_t s) { return cudaSuccess; }
EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags) { return cudaSuccess; }
EXPORT cudaError_t cudaStreamAttachMemAsync(cudaStream_t s, void *p, size_t n, unsigned flags) { return cudaSuccess; }
EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status) { *status = cudaStreamCaptureStatusNone; return cudaSuccess; }
EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t f, void *data, unsigned flags) { f(s, cudaSuccess, data); return cudaSuccess; }
EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void *data) { f(data); return cudaSuccess; }
EXPORT cudaError_t cudaEventCreate(cudaEvent_t *e) { *e = calloc(1, sizeof(struct timespec)); return cudaSuccess; }
EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags) { return cudaEventCreate(e); }
EXPORT cudaError_t cudaEventDestroy(cudaEvent_t e) { free(e); return cudaSuccess; }
EXPORT cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) { clock_gettime(CLOCK_MONOTONIC, (struct timespec *)e); return cudaSuccess; }
EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned flags) { return cudaEventRecord(e, s); }
EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t e) { return cudaSuccess; }
EXPORT cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaSuccess; }
EXPORT cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  struct timespec *a = (struct timespec *)from, *b = (struct timespec *)to;
  *ms = (float)((b->tv_sec - a->tv_sec) * 1e3 + (b->tv_nsec - a->tv_nsec) * 1e-6);
  return cudaSuccess;
}

/* Errors */

EXPORT cudaError_t cudaGetLastError(void) {
  cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
EXPORT cudaError_t cudaPeekAtLastError(void) { return last_error; }
EXPORT const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidSymbol: return "cudaErrorInvalidSymbol";
    case cudaErrorInvalidDeviceFunction: return "cudaErrorInvalidDeviceFunction";
    case cudaErrorNotSupported: return "cudaErrorNotSupported";
    case cudaErrorPeerAccessUnsupported: return "cudaErrorPeerAccessUnsupported";
    default: return "cudaErrorUnknown";
  }
}
EXPORT const char *cudaGetErrorString(cudaError_t error) { return error ? cudaGetErrorName(error) : "no error"; }
