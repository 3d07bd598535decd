__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float acc = 0.0f;
        for (int k = 0; k < Width; k++) acc += M[row * Width + k] * N[col * Width + k];
        P[row * Width + col] = acc;
    }
}
