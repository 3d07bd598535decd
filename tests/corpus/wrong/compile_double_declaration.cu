__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    Mds[ty][tx] = M[ty * Width + tx] + N[ty * Width + tx];
    __syncthreads();
    P[ty * Width + tx] = Mds[tx][ty];
}
