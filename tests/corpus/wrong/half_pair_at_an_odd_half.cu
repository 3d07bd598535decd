#include <cuda_fp16.h>

__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    __shared__ __half own[1026];
    for (int bin = threadIdx.x; bin < 1026; bin += blockDim.x) own[bin] = __float2half(0);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd((__half2*)&own[values[i]], __floats2half2_rn(1, 0));
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], (unsigned int)__half2float(own[bin]));
}
