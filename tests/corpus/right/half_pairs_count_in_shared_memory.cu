#include <cuda_fp16.h>

__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    __shared__ __half2 own[513];
    for (int first = blockIdx.x * 2048; first < n; first += gridDim.x * 2048) {
        for (int pair = threadIdx.x; 2 * pair < bins; pair += blockDim.x) own[pair] = __floats2half2_rn(0, 0);
        __syncthreads();
        for (int i = first + threadIdx.x; i < n && i < first + 2048; i += blockDim.x)
            atomicAdd(&own[values[i] / 2], values[i] % 2 ? __floats2half2_rn(0, 1) : __floats2half2_rn(1, 0));
        __syncthreads();
        for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
            atomicAdd(&counts[bin], (unsigned int)(bin % 2 ? __high2float(own[bin / 2]) : __low2float(own[bin / 2])));
        __syncthreads();
    }
}
