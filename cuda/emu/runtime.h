/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The emulation's runtime: the part of the CUDA runtime that host code uses,
 * with the same names and values. C and C++. See runtime.cc for what it checks,
 * machine.cc for its settings.
 */
#ifndef EPF_EMU_RUNTIME_H
#define EPF_EMU_RUNTIME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As <driver_types.h> numbers them. */
enum cudaError {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInitializationError = 3,
	cudaErrorInsufficientDriver = 35,
	cudaErrorDevicesUnavailable = 46,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorNoKernelImageForDevice = 209,
	cudaErrorECCUncorrectable = 214,
	cudaErrorUnsupportedPtxVersion = 222,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorNotReady = 600,
	cudaErrorIllegalAddress = 700,
	cudaErrorLaunchFailure = 719,
	cudaErrorSystemNotReady = 802,
	cudaErrorSystemDriverMismatch = 803,
	cudaErrorUnknown = 999,
};
typedef enum cudaError cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

enum cudaMemcpyKind {
	cudaMemcpyHostToHost,
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice,
	cudaMemcpyDefault,
};

enum cudaDeviceAttr {
	cudaDevAttrMultiProcessorCount = 16,
	cudaDevAttrL2CacheSize = 38,
	cudaDevAttrMaxPersistingL2CacheSize = 108,
	cudaDevAttrMaxAccessPolicyWindowSize = 109,
};

enum cudaLimit { cudaLimitPersistingL2CacheSize = 6 };

enum cudaMemoryType {
	cudaMemoryTypeUnregistered,
	cudaMemoryTypeHost,
	cudaMemoryTypeDevice,
};

struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
};

struct cudaDeviceProp {
	char name[256];
	size_t totalGlobalMem;
	int major;
	int minor;
};

enum cudaAccessProperty {
	cudaAccessPropertyNormal,
	cudaAccessPropertyStreaming,
	cudaAccessPropertyPersisting,
};

struct cudaAccessPolicyWindow {
	void *base_ptr;
	size_t num_bytes;
	float hitRatio;
	enum cudaAccessProperty hitProp;
	enum cudaAccessProperty missProp;
};

typedef enum { cudaLaunchAttributeAccessPolicyWindow = 1 } cudaLaunchAttributeID;

typedef union {
	struct cudaAccessPolicyWindow accessPolicyWindow;
} cudaLaunchAttributeValue;

#define cudaStreamLegacy ((cudaStream_t)0x1) /* what NULL names */
#define cudaEventDisableTiming 2u
#define cudaStreamNonBlocking 1u
#define cudaHostAllocDefault 0u
#define cudaHostRegisterDefault 0u
#define cudaHostRegisterReadOnly 8u

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaMemGetInfo(size_t *left, size_t *total);
cudaError_t cudaCtxResetPersistingL2Cache(void);

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaMallocManaged(void **p, size_t bytes); /* not to be freed */
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned int flags);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p);

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t stream);
cudaError_t cudaMemset(void *to, int byte, size_t bytes);
cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID id,
				   const cudaLaunchAttributeValue *value);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);

cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t err);
const char *cudaGetErrorString(cudaError_t err);

/* From the driver's interface: the current context of this thread. */
typedef struct CUctx_st *CUcontext;
typedef int CUresult;
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxSetCurrent(CUcontext context);

/* For tests: number of allocations of device memory. */
unsigned long emu_mallocs(void);
/* Likewise: number of kernels that @device was given. */
unsigned long emu_kernels(int device);
/* Likewise: from now on all calls fail while @device is current, as with EPF_EMU_LOST. */
void emu_lose(int device);
/* Likewise: the next kernel of each device waits until @devices of them have been given one;
 * then @lose is lost, unless it is negative. After a minute it waits no longer.
 */
void emu_together(int devices, int lose);

/**
 * emu_argument() - check the arguments of a kernel
 * @arg: arguments
 * @bytes: size of @arg
 *
 * A pointer to host memory that is not pinned ends the program, because a card cannot
 * read it. The check takes words as pointers if they are addresses of mapped memory. It
 * begins with the first allocation of device memory.
 */
void emu_argument(const void *arg, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* EPF_EMU_RUNTIME_H */
