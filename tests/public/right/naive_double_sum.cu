__global__ void MatrixMulKernel(float* A, float* B, float* C, int m) {
    int iy = threadIdx.y + blockIdx.y * blockDim.y;
    int ix = threadIdx.x + blockIdx.x * blockDim.x;
    if (ix < m && iy < m) {
        double sum = 0;
        for (int k = 0; k < m; k++) sum += (double)A[iy * m + k] * (double)B[k * m + ix];
        C[iy * m + ix] = (float)sum;
    }
}
