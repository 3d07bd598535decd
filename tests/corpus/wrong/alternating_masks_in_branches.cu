//!tilelab block=(32,4) grid=(ceil(Width/32), ceil(Width/4))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float line[4][32];
    int lane = threadIdx.x, w = threadIdx.y, row = blockIdx.y * 4 + w, col = blockIdx.x * 32 + lane;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 32) {
        line[w][lane] = row < Width && k0 + lane < Width ? M[row * Width + k0 + lane] : 0.0f;
        if (lane & 1) __syncwarp(0xaaaaaaaa);
        else __syncwarp(0x55555555);
        for (int k = 0; k < 32 && k0 + k < Width; ++k)
            if (col < Width) sum += line[w][k] * N[(k0 + k) * Width + col];
        __syncwarp();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
