__device__ float scratch[1024][1024];
__device__ int lock[1024];
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    unsigned int place;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    place %= 1024;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0) {
        while (atomicCAS(&lock[place], 0, 1) != 0);
        __threadfence();
    }
    __syncthreads();
    scratch[place][t] = i < n ? A[i] + B[i] : 0.0f;
    __syncthreads();
    float sum = scratch[place][t ^ 1];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        atomicExch(&lock[place], 0);
    }
    int j = i - t + (t ^ 1);
    if (j < n) C[j] = sum;
}
