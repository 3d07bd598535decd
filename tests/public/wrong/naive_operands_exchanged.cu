__global__ void MatrixMulKernel(float* A, float* B, float* C, int n) {
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < n && x < n) {
        float t = 0;
        for (int k = 0; k < n; ++k) t += A[k * n + x] * B[y * n + k];
        C[y * n + x] = t;
    }
}
