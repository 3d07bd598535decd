__device__ unsigned short columns[64][TILE_WIDTH * TILE_WIDTH];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int t = threadIdx.y * TILE_WIDTH + threadIdx.x, b = blockIdx.y * gridDim.x + blockIdx.x;
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    columns[b][t] = blockIdx.x * TILE_WIDTH + threadIdx.x;
    unsigned int two = *(unsigned int*)&columns[b][t & ~1];
    int col = t % 2 ? two >> 16 : two & 0xffff;
    float acc = 0.0f;
    for (int k = 0; k < Width; ++k) acc += M[row * Width + k] * N[k * Width + col % Width];
    P[row * Width + col % Width] = acc;
}
