//!tilelab block=(32,8) grid=(ceil(Width/32), ceil(Width/32))
#define BM 32
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float a[BM][BM + 1], b[BM][BM + 1];
    int x = threadIdx.x, y0 = threadIdx.y, j = blockIdx.x * BM + x;
    float s[4] = {0};
    for (int t = 0; t < Width; t += BM) {
        for (int q = 0; q < 3; ++q) {
            int y = y0 + 8 * q, i = blockIdx.y * BM + y;
            a[y][x] = i < Width && t + x < Width ? M[i * Width + t + x] : 0;
            b[y][x] = j < Width && t + y < Width ? N[(t + y) * Width + j] : 0;
        }
        __syncthreads();
        for (int k = 0; k < BM; ++k) for (int q = 0; q < 4; ++q) s[q] += a[y0 + 8 * q][k] * b[k][x];
        __syncthreads();
    }
    for (int q = 0; q < 4; ++q) { int i = blockIdx.y * BM + y0 + 8 * q; if (i < Width && j < Width) P[i * Width + j] = s[q]; }
}
