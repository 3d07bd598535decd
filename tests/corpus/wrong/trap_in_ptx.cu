#define CHECK(condition) do { if (!(condition)) asm volatile("trap;"); } while (0)

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    CHECK(row < Width && col < Width);
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = sum;
}
