__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float As[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Bs[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE_WIDTH + ty;
    int j = blockIdx.x * TILE_WIDTH + tx;
    float c = 0;
    for (int t = 0; t < Width / TILE_WIDTH; ++t) {
        As[ty][tx] = M[i * Width + t * TILE_WIDTH + tx];
        Bs[ty][tx] = N[(t * TILE_WIDTH + ty) * Width + j];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            float a = As[ty + 1][k];
            c += a * Bs[k][tx];
        }
        __syncthreads();
    }
    P[i * Width + j] = c;
}
