// Element i of an array is of kind i % 3, and each kind needs another operation. Here, each warp takes one kind.
//
// The block has three warps and 96 elements. Warp w takes every third of them, beginning at w, so all its threads take
// the same path. The price: with a step of 3, a warp's loads touch 12 sectors instead of 4.

__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    int kind = threadIdx.x / 32;
    int i = blockIdx.x * blockDim.x + 3 * (threadIdx.x % 32) + kind;

    float value = In[i];
    if (kind == 0) {
        for (int r = 0; r < rounds; ++r) {
            value += 1.0f;
        }
    } else if (kind == 1) {
        for (int r = 0; r < rounds; ++r) {
            value -= 1.0f;
        }
    } else {
        for (int r = 0; r < rounds; ++r) {
            value *= 2.0f;
        }
    }
    Out[i] = value;
}
