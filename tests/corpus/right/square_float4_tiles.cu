__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ __align__(16) float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ __align__(16) float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (tx < TILE_WIDTH / 4) {
            *(float4*)&Mds[ty][4 * tx] = *(const float4*)&M[Row * Width + k0 + 4 * tx];
            *(float4*)&Nds[ty][4 * tx] = *(const float4*)&N[(k0 + ty) * Width + blockIdx.x * TILE_WIDTH + 4 * tx];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}
