#define TILE_WIDTH 32
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float subM[TILE_WIDTH][TILE_WIDTH];
    __shared__ float subN[TILE_WIDTH][TILE_WIDTH];
    int Row = blockIdx.y * blockDim.y + threadIdx.y;
    int Col = blockIdx.x * blockDim.x + threadIdx.x;
    float Pvalue = 0;
#pragma unroll
    for (int t = 0; t < ceil(1.0 * Width / TILE_WIDTH); t++) {
        int c = t * TILE_WIDTH + threadIdx.x;
        if (c < Width && Row < Width) subM[threadIdx.y][threadIdx.x] = M[Row * Width + c];
        else subM[threadIdx.y][threadIdx.x] = 0;
        int r = t * TILE_WIDTH + threadIdx.y;
        if (r < Width && Col < Width) subN[threadIdx.y][threadIdx.x] = N[r * Width + Col];
        else subN[threadIdx.y][threadIdx.x] = 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++) Pvalue += subM[threadIdx.y][k] * subN[k][threadIdx.x];
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}
