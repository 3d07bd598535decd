//!tilelab block=(32,4) grid=(ceil(Width/32), ceil(Width/4))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float line[4][32];
    int lane = threadIdx.x, w = threadIdx.y, row = blockIdx.y * 4 + w, col = blockIdx.x * 32 + lane;
    unsigned int inside = __ballot_sync(0xffffffff, col < Width);
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 32) {
        line[w][lane] = row < Width && k0 + lane < Width ? M[row * Width + k0 + lane] : 0.0f;
        if (col < Width) {
            __syncwarp(inside);
            for (int k = 0; k < 32 && k0 + k < Width; ++k) sum += line[w][k] * N[(k0 + k) * Width + col];
        }
        __syncwarp();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
