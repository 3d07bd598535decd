#define PITCH (TILE_WIDTH - 1)

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH * TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH * TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    float acc = 0.0f;
    for (int base = 0; base < Width; base += TILE_WIDTH) {
        float m = (Row < Width && base + tx < Width) ? M[Row * Width + base + tx] : 0.0f;
        float n = (Col < Width && base + ty < Width) ? N[(base + ty) * Width + Col] : 0.0f;
        Mds[ty * PITCH + tx] = m;
        Nds[ty * TILE_WIDTH + tx] = n;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            acc += Mds[ty * PITCH + k] * Nds[k * TILE_WIDTH + tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = acc;
}
