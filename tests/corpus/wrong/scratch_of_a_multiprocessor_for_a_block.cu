__device__ float scratch[1024][1024];
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    unsigned int place;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    scratch[place % 1024][t] = i < n ? A[i] + B[i] : 0.0f;
    __syncthreads();
    if (i < n) C[i] = scratch[place % 1024][t];
}
