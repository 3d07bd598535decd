#define TILE_WIDTH 32
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[16][16];
    __shared__ float Ns[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Ms[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
        Ns[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + Col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}
