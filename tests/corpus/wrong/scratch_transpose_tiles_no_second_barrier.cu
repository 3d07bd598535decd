#define TILE_WIDTH 8
//!tilelab grid=(4)
__device__ float tile[4][TILE_WIDTH][TILE_WIDTH + 1];
__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, b = blockIdx.x;
    int across = (Width + TILE_WIDTH - 1) / TILE_WIDTH, down = (Height + TILE_WIDTH - 1) / TILE_WIDTH;
    for (int t = b; t < across * down; t += gridDim.x) {
        int x0 = t % across * TILE_WIDTH, y0 = t / across * TILE_WIDTH;
        if (x0 + tx < Width && y0 + ty < Height) tile[b][ty][tx] = In[(y0 + ty) * Width + x0 + tx];
        __syncthreads();
        if (y0 + tx < Height && x0 + ty < Width) Out[(x0 + ty) * Height + y0 + tx] = tile[b][tx][ty];
    }
}
