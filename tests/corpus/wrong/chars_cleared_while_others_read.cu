//!tilelab block=(32,8) grid=(ceil(Width/32), ceil(Width/8))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ char busy[8];
    int lane = threadIdx.x, col = blockIdx.x * 32 + lane, row = blockIdx.y * 8 + threadIdx.y, warps = 0;
    if (lane == 0) busy[threadIdx.y] = row < Width;
    __syncthreads();
    for (int w = 0; w < 8; ++w) warps += busy[w];
    __syncwarp();
    if (threadIdx.y == 7 && lane < 8) busy[lane] = 0;
    if (warps == 0 || row >= Width || col >= Width) return;
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = sum;
}
