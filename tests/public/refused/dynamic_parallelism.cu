__global__ void oneRow(float* M, float* N, float* P, int Width, int row) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < Width) {
        float s = 0;
        for (int k = 0; k < Width; ++k) s += M[row * Width + k] * N[k * Width + c];
        P[row * Width + c] = s;
    }
}
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < Width && blockIdx.x == 0 && threadIdx.x == 0)
        oneRow<<<(Width + 63) / 64, 64>>>(M, N, P, Width, row);
}
