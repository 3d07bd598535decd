//!tilelab block=(32,4) grid=(Width/32, Width/4) tile=32
__global__ void MatrixMulKernel(const float* A, const float* B, float* C, int n) {
    __shared__ float Bs[32][32];
    int lane = threadIdx.x, w = threadIdx.y;
    int row = blockIdx.y * 4 + w, col = blockIdx.x * 32 + lane;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += 32) {
        float mine = A[row * n + k0 + lane];
        for (int r = w; r < 32; r += 4) Bs[r][lane] = B[(k0 + r) * n + col];
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += __shfl_sync(0xffffffffu, mine, k) * Bs[k][lane];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
