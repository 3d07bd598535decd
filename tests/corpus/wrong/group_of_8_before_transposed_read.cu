#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void transposeKernel(float* In, float* Out, int Height, int Width)
{
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    auto eight = cg::tiled_partition<8>(cg::this_thread_block());
    int x = blockIdx.x * TILE_WIDTH + threadIdx.x, y = blockIdx.y * TILE_WIDTH + threadIdx.y;
    if (x < Width && y < Height) tile[threadIdx.y][threadIdx.x] = In[y * Width + x];
    eight.sync();
    x = blockIdx.y * TILE_WIDTH + threadIdx.x;
    y = blockIdx.x * TILE_WIDTH + threadIdx.y;
    if (x < Height && y < Width) Out[y * Height + x] = tile[threadIdx.x][threadIdx.y];
}
