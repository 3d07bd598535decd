extern "C" __device__ int vprintf(const char*, void*);
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y, col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = sum;
    if (row == Width - 1 && col == Width - 1) vprintf("the last one is %f\n", P + Width * Width);
}
