//!tilelab block=(16,4) grid=(ceil(Width/16), ceil(Width/4))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float rows[4][16];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 4 + ty, c = blockIdx.x * 16 + tx;
    unsigned int half = ty % 2 ? 0xffff0000 : 0x0000ffff;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 16) {
        rows[ty][tx] = r < Width && k0 + tx < Width ? M[r * Width + k0 + tx] : 0.0f;
        __syncwarp(half);
        for (int k = 0; k < 16 && k0 + k < Width; ++k)
            if (c < Width) sum += rows[ty][k] * N[(k0 + k) * Width + c];
        __syncwarp(half);
    }
    if (r < Width && c < Width) P[r * Width + c] = sum;
}
