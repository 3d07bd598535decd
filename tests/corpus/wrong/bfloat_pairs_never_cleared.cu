#include <cuda_bf16.h>

__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    __shared__ __nv_bfloat162 own[513];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i] / 2], __floats2bfloat162_rn(values[i] % 2 == 0, values[i] % 2));
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], (unsigned int)(bin % 2 ? __high2float(own[bin / 2]) : __low2float(own[bin / 2])));
}
