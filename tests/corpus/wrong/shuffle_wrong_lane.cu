//!tilelab block=(32,1) grid=(ceil(Width/32), Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int lane = threadIdx.x, row = blockIdx.y, col = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += 32) {
        float mine = k0 + lane < Width ? M[row * Width + k0 + lane] : 0.0f;
        for (int k = 0; k < 32; ++k) {
            float m = __shfl_sync(0xffffffffu, mine, k + 1);
            float n = (k0 + k < Width && col < Width) ? N[(k0 + k) * Width + col] : 0.0f;
            sum += m * n;
        }
    }
    if (col < Width) P[row * Width + col] = sum;
}
