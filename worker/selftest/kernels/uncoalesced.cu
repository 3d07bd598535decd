// Correct but slow: neighbouring threads take neighbouring rows, so each access of a warp is in another line.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.x * TILE_WIDTH + threadIdx.x;
    int Col = blockIdx.y * TILE_WIDTH + threadIdx.y;
    if (Row < Width && Col < Width) {
        float Pvalue = 0.0f;
        for (int k = 0; k < Width; ++k) Pvalue += M[Row * Width + k] * N[k * Width + Col];
        P[Row * Width + Col] = Pvalue;
    }
}
