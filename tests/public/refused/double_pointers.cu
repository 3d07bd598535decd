__global__ void MatrixMulKernel(double* A, double* B, double* C, int n) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n && c < n) {
        double s = 0;
        for (int k = 0; k < n; ++k) s += A[r * n + k] * B[k * n + c];
        C[r * n + c] = s;
    }
}
