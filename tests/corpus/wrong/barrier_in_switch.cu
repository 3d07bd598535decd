__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float p = 0;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        switch (tx % 2) {
        case 0:
            Mds[ty][tx] = M[row * Width + ph * TILE_WIDTH + tx];
            Mds[ty][tx + 1] = M[row * Width + ph * TILE_WIDTH + tx + 1];
            __syncthreads();
            break;
        default:
            Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + col];
            Nds[ty][tx - 1] = N[(ph * TILE_WIDTH + ty) * Width + col - 1];
            __syncthreads();
        }
        for (int k = 0; k < TILE_WIDTH; ++k)
            p += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = p;
}
