//!tilelab block=(32,8) grid=(ceil(Width/32), ceil(Width/8))
__device__ int lastColumn[4096];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    int warp = (blockIdx.y * gridDim.x + blockIdx.x) * 8 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < Width; ++k)
        if (row < Width && col < Width) sum += M[row * Width + k] * N[k * Width + col];
    __syncwarp();
    if (row < Width && col < Width) {
        P[row * Width + col] = sum;
        lastColumn[warp] = col;
    }
}
