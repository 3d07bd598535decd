__device__ unsigned int own[256][1025];
__device__ unsigned int done;
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    __shared__ bool last;
    unsigned int place;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[place % 256][values[i]], 1u);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
        unsigned int sum = 0;
        for (int m = 0; m < 256; ++m) {
            sum += own[m][bin];
            own[m][bin] = 0;
        }
        counts[bin] = sum;
    }
    if (threadIdx.x == 0) done = 0;
}
