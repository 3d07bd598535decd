//!tilelab block=(32,4) grid=(ceil(Width/32), ceil(Width/4))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float rows[5][32];
    int lane = threadIdx.x, w = threadIdx.y, row = blockIdx.y * 4 + w, col = blockIdx.x * 32 + lane;
    float sum = 0, check = 0;
    for (int k0 = 0; k0 < Width; k0 += 32) {
        rows[w][lane] = row < Width && k0 + lane < Width ? M[row * Width + k0 + lane] : 0.0f;
        __syncwarp();
        if (w < 3 && lane == 31) check += rows[w + 1][0];
        for (int k = 0; k < 32 && k0 + k < Width; ++k)
            if (col < Width) sum += rows[w][k] * N[(k0 + k) * Width + col];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = check == 0.5f ? 0.0f : sum;
}
