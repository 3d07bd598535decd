__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float s0 = 0, s1 = 0;
        for (int k = 0; k < Width; k += 2) {
            s0 += M[row * Width + k] * N[k * Width + col];
            s1 += M[row * Width + k + 1] * N[(k + 1) * Width + col];
        }
        P[row * Width + col] = s0 + s1;
    }
}
