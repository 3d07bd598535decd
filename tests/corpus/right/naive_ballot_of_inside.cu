__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    bool inside = row < Width && col < Width;
    unsigned active = __ballot_sync(0xffffffffu, inside);
    if (!inside) return;
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k) {
        unsigned same = __match_any_sync(active, row);
        int leader = __ffs(same) - 1;
        float m = 0.0f;
        if ((int)((threadIdx.y * blockDim.x + threadIdx.x) & 31) == leader) m = M[row * Width + k];
        m = __shfl_sync(same, m, leader);
        sum += m * N[k * Width + col];
    }
    P[row * Width + col] = __popc(active) > 0 ? sum : 0.0f;
}
