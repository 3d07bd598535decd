__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ __align__(16) float Mds[TILE_WIDTH][TILE_WIDTH + 4];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (tx < TILE_WIDTH / 4) {
            float4 four = *(const float4*)&M[Row * Width + k0 + 4 * tx];
            *(float4*)&Mds[ty][2 * tx] = four;
        }
        Nds[ty][tx] = N[(k0 + ty) * Width + Col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH / 2; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}
