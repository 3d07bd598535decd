struct Tiles {
    float m[TILE_WIDTH][TILE_WIDTH];
    float n[TILE_WIDTH][TILE_WIDTH];
};

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ Tiles tiles;
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        tiles.m[ty][tx] = (Row < Width && k0 + tx < Width) ? M[Row * Width + k0 + tx] : 0.0f;
        tiles.n[ty][tx] = (Col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + Col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += tiles.m[ty][k] * tiles.n[k][tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}
