__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    unsigned int warp;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    int i = blockIdx.x * blockDim.x + warp * 32 + threadIdx.x % 32;
    if (i < n) C[i] = A[i] + B[i];
}
