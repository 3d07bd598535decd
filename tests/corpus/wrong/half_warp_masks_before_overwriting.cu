//!tilelab block=(32,1) grid=(ceil(Width/32), Width)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float m[32];
    int lane = threadIdx.x, col = blockIdx.x * 32 + lane, row = blockIdx.y;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 32) {
        m[lane] = k0 + lane < Width ? M[row * Width + k0 + lane] : 0.0f;
        __syncwarp();
        for (int k = 0; k < 32 && k0 + k < Width; ++k)
            if (col < Width) sum += m[k] * N[(k0 + k) * Width + col];
        __syncwarp(0xffffu << (lane & 16));
    }
    if (col < Width) P[row * Width + col] = sum;
}
