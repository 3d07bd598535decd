//!tilelab block=(32,4) grid=(ceil(Width/32), ceil(Width/4))
__device__ float lineOf[1024][32];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int lane = threadIdx.x, row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 32 + lane;
    float* line = lineOf[(blockIdx.y * gridDim.x + blockIdx.x) * 4 + threadIdx.y];
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += 32) {
        __syncwarp();
        line[lane] = (row < Width && k0 + lane < Width) ? M[row * Width + k0 + lane] : 0.0f;
        for (int k = 0; k < 32 && k0 + k < Width; ++k)
            if (col < Width) sum += line[k] * N[(k0 + k) * Width + col];
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
