//!tilelab block=(8,4) grid=(ceil(Width/8), ceil(Height/8))
__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    __shared__ float tile[8][9];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 8 + tx;
    for (int y = ty; y < 8; y += 4)
        if (x < Width && blockIdx.y * 8 + y < Height) tile[y][tx] = In[(blockIdx.y * 8 + y) * Width + x];
    __syncwarp(ty < 2 ? 0xffff : 0xffff0000);
    x = blockIdx.y * 8 + tx;
    for (int y = ty; y < 8; y += 4)
        if (x < Height && blockIdx.x * 8 + y < Width) Out[(blockIdx.x * 8 + y) * Height + x] = tile[tx][y];
}
