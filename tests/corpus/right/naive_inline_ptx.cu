__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0;
        for (int k = 0; k < Width; ++k)
            asm("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(M[row * Width + k]), "f"(N[k * Width + col]));
        P[row * Width + col] = sum;
    }
}
