//!tilelab block=(32,4) grid=(Width, ceil(Width/4))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * 4 + threadIdx.y;
    int col = blockIdx.x;
    if (row >= Width) return;   // the whole warp
    float sum = 0.0f;
    for (int k = threadIdx.x; k < Width; k += 32)
        sum += M[row * Width + k] * N[k * Width + col];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0)
        P[row * Width + col] = sum;
}
