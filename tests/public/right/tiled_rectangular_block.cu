//!tilelab block=(BX,BY) grid=(ceil(Width/BX), ceil(Width/BY)) tile=BY
#define BX 32
#define BY 8
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[BY][BY + 1];
    __shared__ float b[BY][BX];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * BY + y, col = blockIdx.x * BX + x;
    float s = 0;
    for (int k0 = 0; k0 < Width; k0 += BY) {
        if (x < BY) a[y][x] = (row < Width && k0 + x < Width) ? M[row * Width + k0 + x] : 0;
        b[y][x] = (k0 + y < Width && col < Width) ? N[(k0 + y) * Width + col] : 0;
        __syncthreads();
        for (int k = 0; k < BY; ++k) s += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = s;
}
