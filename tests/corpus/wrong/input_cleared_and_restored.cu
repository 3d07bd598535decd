__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    bool inside = row < Width && col < Width;
    float sum = 0, kept = 0;
    if (inside) {
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
    __syncthreads();
    if (inside) {
        kept = N[row * Width + col];
        N[row * Width + col] = 0.0f;
    }
    __syncthreads();
    if (inside) N[row * Width + col] = kept;
}
