// Three kinds of elements, each with something else to be done to it: element i is of kind i % 3.
//
// The kind goes by the warp: the threads of warp w take the elements of kind w among the block's 96, every third one.
// All threads of a warp go the same way through the branch. The price is an access to every third element: three
// warps touch the same sectors, each for a third of what is in them.

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
