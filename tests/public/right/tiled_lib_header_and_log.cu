#define wbLog(level, ...)
#define BLOCK_WIDTH 16
__global__ void MatrixMulKernel(float* A, float* B, float* C, int numColumns) {
    __shared__ float ds_A[BLOCK_WIDTH][BLOCK_WIDTH];
    __shared__ float ds_B[BLOCK_WIDTH][BLOCK_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int Row = by * BLOCK_WIDTH + ty;
    int Col = bx * BLOCK_WIDTH + tx;
    float Cvalue = 0.0;
    wbLog(TRACE, "phases of ", numColumns);
    for (int t = 0; t < (numColumns - 1) / BLOCK_WIDTH + 1; ++t) {
        if (Row < numColumns && t * BLOCK_WIDTH + tx < numColumns)
            ds_A[ty][tx] = A[Row * numColumns + t * BLOCK_WIDTH + tx];
        else
            ds_A[ty][tx] = 0.0;
        if (t * BLOCK_WIDTH + ty < numColumns && Col < numColumns)
            ds_B[ty][tx] = B[(t * BLOCK_WIDTH + ty) * numColumns + Col];
        else
            ds_B[ty][tx] = 0.0;
        __syncthreads();
        for (int i = 0; i < BLOCK_WIDTH; ++i) Cvalue += ds_A[ty][i] * ds_B[i][tx];
        __syncthreads();
    }
    if (Row < numColumns && Col < numColumns) C[Row * numColumns + Col] = Cvalue;
}
